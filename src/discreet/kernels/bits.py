"""Words of 64 bits: what there is an instruction for and no name in Python."""

from __future__ import annotations

from numba.extending import intrinsic


@intrinsic
def ones(typingctx, word):  # type: ignore[no-untyped-def]
    """How many bits of a word are set."""
    del typingctx

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        del context, signature
        return builder.ctpop(args[0])

    return word(word), generate
