"""
Repeats the evaluation of Zhang 2019, "the paper" in this folder: its studies, targets and scores.

Source:
    Zhang Shiqing, Yang Yaohua, Shen Li, Wang Zhiying: Efficient and transparent CPU-GPU data
    communication through partial page migration. Computer Engineering & Science, 2019, issue 7 (in
    Chinese), doi 10.3969/j.issn.1007-130X.2019.07.004. Its sibling paper: Frontiers of Computer
    Science, doi 10.1007/s11704-018-7386-4. docs/simulate-evaluation.md says what of them is used.
"""
