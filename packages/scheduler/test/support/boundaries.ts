/** Returns the kind of a statement that the scheduler sends. */
export function boundaryOf(text: string): "read" | "begin" | "fire" | "prune" {
  if (text.startsWith("select wanted.name")) return "read";
  if (text.startsWith("insert into")) return "begin";
  return text.startsWith("with claimed as") ? "fire" : "prune";
}
