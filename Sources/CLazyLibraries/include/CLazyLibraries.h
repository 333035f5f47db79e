// Nothing here is called by its name: the program is linked with these in place of libraries of the system that few commands need.
