"""The modelled driver beside a real one: measured points, predictions, and a fit."""
