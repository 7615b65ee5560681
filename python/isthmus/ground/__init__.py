"""What every room stands on: sizes, spelling, texts, locks. It knows `isthmus.errors` alone."""
