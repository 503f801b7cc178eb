"""What the company does every night, in small: many numbers are drawn and sorted."""
import random

draw = random.Random(7)
rows = sorted(draw.random() for _ in range(60_000))
