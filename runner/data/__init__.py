"""Reading corpora and queries from files; shared by the data set plugins.

problems   what is wrong in the files, collected; `strict` turns errors into a stop
files      opening what the configuration names
jsonl      one JSON object a line, whatever bytes the file has
fields     typed values of an object, each problem with file, line and field
documents  a corpus from JSONL
notes      a corpus from a folder of Markdown, with their front_matter
queries    queries from JSONL
labels     rated answers from JSONL, or as mtrag has them; ratings: on which scale
corpus     documents -> chunks -> Corpus with its fingerprint
spool      records that wait on disk until they are asked for
gold       gold labels against the corpus: ids, spans, chunks
identity   hashes of queries and gold labels
"""
