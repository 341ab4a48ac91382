"""Other people's tuners in the arena, each in an environment of its own, over a pipe.

drivers       one small program per library; runs in the library's environment and imports nothing of ours but `wire`
environments  which libraries, in which versions, and where they are installed
processes     a driver from our side: start, ask with a time-out, end
axes          a space as libraries see it, and the nearest configuration that is on offer
common        the rule of recommending that all strategies share, beside the peers' own
tuners        the driver as a Tuner
entrants      who plays
"""
