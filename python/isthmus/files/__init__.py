"""
Where Isthmus writes files that users keep: whole or not at all, and durable. And how it opens
those that they name, whatever lies there.

A file is written under a temporary name, synced, renamed, and its folder is synced. A reader, and
a crash at any moment, finds the earlier file or the new one. Nothing else in the package writes.
"""
