/** Returns which kind of statement of the scheduler a text is. */
export function boundaryOf(text: string): "read" | "begin" | "fire" | "prune" {
  if (text.startsWith("select wanted.name")) return "read";
  if (text.startsWith("insert into")) return "begin";
  return text.startsWith("with claimed as") ? "fire" : "prune";
}
