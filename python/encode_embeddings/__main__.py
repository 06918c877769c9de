"""`python -m encode_embeddings` is the command `encode`, and has the command `export` in addition."""
import sys

from encode_embeddings import main

if sys.argv[1:2] == ["export"]:
    from encode_embeddings.export import main as export
    sys.exit(export(sys.argv[2:]))
main()
