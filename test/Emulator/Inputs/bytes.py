"""bytes.py write FILE FORMAT VALUE...   writes packed values, little-endian
   bytes.py print FILE FORMAT            prints them, one a line
   bytes.py head FILE COUNT OUTPUT       copies the first bytes
   bytes.py patch FILE OFFSET BYTE... -- OUTPUT   copies with bytes replaced

FORMAT is a letter of Python's struct: H, I, i, f, Q. A value START..END is a
range, END excluded."""

import struct
import sys


def main():
    command, name = sys.argv[1:3]
    if command == "write":
        letter, values = sys.argv[3], []
        for text in sys.argv[4:]:
            if ".." in text:
                start, end = map(int, text.split(".."))
                values += range(start, end)
            else:
                values.append(float(text) if letter == "f" else int(text, 0))
        with open(name, "wb") as file:
            file.write(struct.pack(f"<{len(values)}{letter}", *values))
        return
    with open(name, "rb") as file:
        data = file.read()
    if command == "print":
        letter = sys.argv[3]
        size = struct.calcsize("<" + letter)
        for value in struct.unpack(f"<{len(data) // size}{letter}", data):
            print(value)
    elif command == "head":
        with open(sys.argv[4], "wb") as file:
            file.write(data[: int(sys.argv[3], 0)])
    elif command == "patch":
        split = sys.argv.index("--")
        offset = int(sys.argv[3], 0)
        new = bytes(int(text, 0) for text in sys.argv[4:split])
        with open(sys.argv[split + 1], "wb") as file:
            file.write(data[:offset] + new + data[offset + len(new):])
    else:
        sys.exit(f"unknown command {command}")


if __name__ == "__main__":
    main()
