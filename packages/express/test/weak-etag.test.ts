import { expressMajors } from "@svc/test-support";
import { anyCharacter } from "@svc/test-support/any-character";
import { expect } from "chai";
import fc from "fast-check";
import { weakEtag } from "../src/weak-etag.ts";

for (const [name, express] of Object.entries(expressMajors)) {
  it(`weakEtag() makes the same ETag as ${name} for every body`, () => {
    const theirs = express().get("etag fn") as (body: string | Buffer, encoding?: BufferEncoding) => string;
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: anyCharacter, maxLength: 3000 }), fc.uint8Array({ maxLength: 3000 })),
        (body) => {
          const sent = typeof body === "string" ? body : Buffer.from(body);
          expect(weakEtag(sent, "utf8")).to.equal(theirs(sent, "utf8"));
        },
      ),
    );
  });
}
