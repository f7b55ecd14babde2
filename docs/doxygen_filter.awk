# What Doxygen reads of a header: indented lists in comments become blocks that keep their lines.
# (" *   161001  a pointer is null" would otherwise flow into the paragraph above.)
{
  in_tag = /^ \* +@/ || (in_tag && !/^ \*\/?$/)  # "@param x ..." and its continuation
  indented = !in_tag && /^ \*   +[^ ]/
  if (indented != block) print " *"
  block = indented
  if (block) sub(/^ \*/, " *  ")
  print
}
