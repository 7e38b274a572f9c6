import { expect } from "chai";
import { Answer } from "../src/answer.ts";
import { newJar, setCookies } from "../src/checks/cookies.ts";

const answer = (...lines: readonly string[]): Answer =>
  new Answer(
    200,
    lines.map((line) => ["Set-Cookie", line] as const),
    Buffer.alloc(0),
    0,
  );

describe("cookies set by a response", () => {
  it("are parsed with unchanged values and lower-case attribute names", () => {
    const [cookie] = setCookies(answer("a=b=c; PATH=/; httponly; Max-Age=600"));
    expect(cookie).to.include({ name: "a", value: "b=c", isDeleted: false });
    expect([...(cookie?.attributes ?? [])]).to.deep.equal([
      ["path", "/"],
      ["httponly", ""],
      ["max-age", "600"],
    ]);
  });

  it("stay in the jar until Max-Age or Expires deletes them", () => {
    const jar = newJar();
    jar.take(answer("a=1", "b=2", "c=3; Expires=Fri, 01 Jan 2100 00:00:00 GMT"));
    expect(jar.headers()).to.deep.equal([["Cookie", "a=1; b=2; c=3"]]);
    jar.take(answer("a=; Max-Age=0", "b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"));
    expect([jar.size, jar.has("a"), jar.has("c")]).to.deep.equal([1, false, true]);
    jar.take(answer("c=; Max-Age=-1"));
    expect(jar.headers()).to.deep.equal([]);
  });
});
