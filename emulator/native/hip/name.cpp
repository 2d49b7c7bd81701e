// Nothing: a library of another name that needs the real one. A wheel cannot hold links (CMakeLists.txt).
