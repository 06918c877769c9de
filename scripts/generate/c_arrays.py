"""Writes arrays of numbers as C++ source."""


def write_array(out, kind, name, values):
    form = "0x{:x}" if kind in ("uint32_t", "uint64_t") else "{}"  # offsets and small values are decimal
    out.write(f"const {kind} {name}[] = {{\n")
    line = "   "
    for v in values:
        item = " " + form.format(v) + ","
        if len(line) + len(item) > 118:
            out.write(line + "\n")
            line = "   "
        line += item
    out.write(line + "\n};\n" + f"const size_t {name}Size = {len(values)};\n")
