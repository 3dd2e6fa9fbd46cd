"""Records: what a run or a sweep was, frozen into a folder from which it can be run again and compared.

source         what is to be frozen: the folder of a run, or of a sweep
portable       values without what belongs to one machine
configuration  from the configurations of runs to frozen.yaml, checked to compose to them
environment    environment.json
readme         README.md
files          all files of a record, and writing them at once or not at all
record         opening a record
reproduction   running a record again and telling what is different
"""
