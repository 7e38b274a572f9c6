/** A message that no HTTP client could read. */
export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
}
