"""Questions about a corpus, written by a model and checked before they are kept.

orders          which chunks are asked about, and what kind of question is wanted of each
drafts          the questions that a model writes for one chunk
self_contained  whether a question makes sense to somebody who has not seen the source
duplicates      questions that say the same
neighbours      the chunks that fit a question best
check           whether the sources answer a question, and whether the answers agree
maker           all of it, in order; a component
estimate        what all of it will ask of the model
files           the queries file and its provenance
"""
