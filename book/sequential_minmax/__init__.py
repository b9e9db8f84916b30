"""SequentialMinMax (Parkes, Procaccia, Shah, TEAC 2015): indivisible tasks, judged in whole numbers."""
