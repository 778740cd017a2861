"""The processor's name."""

from cseb.processor import processor


def test_it_is_the_same_line_every_time() -> None:
    assert processor() == processor()
    assert processor().strip()
    assert "\n" not in processor()
