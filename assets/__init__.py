"""Files that ship with the tool: real captures, shared cases, icons."""
