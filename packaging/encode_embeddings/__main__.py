"""python -m encode_embeddings is the command `encode`."""
from encode_embeddings import main

main()
