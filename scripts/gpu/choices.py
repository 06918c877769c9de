"""The step of gpu_check.py that compares two ways to compute attention, and the sizes of the runs."""
# Changelog entries are short, so 200,000 of them keep a small model busy for a second or more.
SHORT_ROWS = 200_000
LONG_ROWS = 3000
LONG_ROW_TOKENS = 512
ATTENTION_TEST = "gpu_attention_test"


def attention(checks):
    """Measures what a decision needs (docs/gpu.md); no figure is right or wrong. cuDNN may end the program, for example by an
    illegal access, which is then the finding."""
    report = checks.report
    report.section("Attention: cuDNN beside FlashAttention-2 (docs/gpu.md says what follows)", "shape", "type", "figures")
    run = checks.gpu_test(ATTENTION_TEST)
    if run is not None and run.returncode:
        report.row(ATTENTION_TEST, f"ended with {run.returncode}", (run.stdout.strip().splitlines() or ["no output"])[-1])
