import { expect } from "chai";
import { short, show } from "../src/show.ts";

describe("a string quoted from the service", () => {
  it("contains no control characters, no changes of text direction and only characters that XML allows", () => {
    const hostile = "a\u001b[31mb\u0007c\r\nd\u009be\u202ef\uffffg\ud800";
    expect(short(hostile)).to.equal("a [31mb c d e f g\ufffd");
  });

  it("is truncated, but never within a character", () => {
    expect(short("xx\u{1f600}", 3)).to.equal("xx\ufffd...");
    expect(show("y".repeat(500))).to.have.length.below(170);
  });

  it("contains no token", () => {
    expect(short(`got ${"eyJhbGciOi"}.${"eyJzdWIiOi"}.c2lnbmF0dXJl`)).to.equal("got <token>");
  });
});
