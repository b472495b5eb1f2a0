"""What the captures are made of. Written for this project and dedicated to the public domain (CC0 1.0)."""

SHORT_EN = "The cat that the old sailor fed every morning sleeps on the warm red roof, and it never looks down."

SHORT_ID = "Kucing itu tidur di atap rumah nenek setiap sore hari."

SENTENCE_EN = (
    "The old lighthouse stood at the end of the harbour, and every evening the keeper climbed its stairs to light the "
    "lamp. Ships that came home late looked for that light, because the rocks below it had taken many of them. One "
    "winter the lamp went out, and the keeper rang the bell by hand until the morning. Nobody in the village slept "
    "that night. When the sun came up, all nine boats were back, and the old keeper was asleep beside the bell."
)

SENTENCE_ID = (
    "Kucing itu duduk di depan pintu dan menunggu hujan berhenti. Anak kecil di dalam rumah membuka jendela, lalu "
    "memanggil namanya. Kucing itu tidak menjawab, tetapi ekornya bergerak pelan. "
    "Hujan turun sampai malam, dan kucing itu tetap menunggu lama."
)

FULL_LENGTH_EN = """
A map of a city is smaller than the city, and that is why it is useful. Whoever draws it has to decide what to leave
out. A map for people who walk shows stairs and bridges. A map for people who drive shows which streets run one way. A
map for people who repair pipes shows neither; it shows what lies under the street, and how deep. Each of them is right,
and none of them is the city.

The first map of our town was drawn by a teacher who had never learned to draw. She walked every street with a wheel
that clicked once for each metre, and her pupils took turns to count the clicks. When two of them disagreed, they went
back to the corner and began again. It took a whole summer. By the end of it the pupils knew the town better than the
people who had built it, because they had looked at every door. They knew which houses leaned, which wells were dry, and
where the dogs were kept.

The teacher drew the river last. She said that a river is not a line, because it moves, and a line on paper does not.
So she drew it twice, once in blue for the dry months and once in grey for the wet ones, and between the two colours she
wrote the names of the families whose fields lay there. In a wet year their fields were the river. In a dry year the
river was their field. Nobody had told the people who collected taxes, and for some years they had asked for money for
land that was under water.

The map hung in the school for sixty years. Then a new road was built, and the town grew over the hill, and a company
made another map from photographs that were taken from an aeroplane. The new map was exact. It showed every roof. It did
not show which wells were dry, and it did not show the dogs. The river on it was a line, drawn on the day on which the
aeroplane flew, which was a day in the dry months.

In the next wet year the water came up to the new road and went over it. The engineers were surprised, and they asked
how anyone could have known. An old man, who had once been a boy that counted clicks, took them to the school and showed
them the wall. There it was, in grey, with the names beside it. They looked at it for a long time. Then they asked who
had the wheel, and whether it still clicked, and how many children could be spared for the summer.
"""
