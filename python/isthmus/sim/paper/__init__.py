"""The evaluation of the paper, run again: its studies, targets and scores."""
