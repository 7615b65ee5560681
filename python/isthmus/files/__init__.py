"""
Writes the files that users keep: completely or not at all, and durably. Also opens the files that
users name, whatever they are.

A file is written under a temporary name, synced and renamed, and its folder is synced. A reader
finds the earlier file or the new one, also after a crash at any moment. Only this package writes.
"""
