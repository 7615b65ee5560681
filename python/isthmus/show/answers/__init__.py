"""What other commands than `isthmus bench` answer, as text and for programs."""
