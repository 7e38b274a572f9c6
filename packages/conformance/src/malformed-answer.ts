/** A message that is not valid HTTP. */
export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
}
