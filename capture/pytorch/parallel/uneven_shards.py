"""What FSDP2 cannot share evenly: it cuts parameters along their first dimension."""


def remark(shapes, ranks):
    """One sentence on parameters of which the ranks hold different parts; empty where there are none."""
    uneven = sum(1 for shape in shapes if shape and shape[0] % ranks)
    if not uneven:
        return ""
    some = "1 parameter has" if uneven == 1 else f"{uneven} parameters have"
    return (f"{some} a first dimension that {ranks} ranks cannot share evenly: the last ranks hold less of it than the "
            "first, or nothing, while all exchange the same; ranks are taken as alike all the same.")
