import { connect } from "node:net";
import { expect } from "chai";
import { runSample } from "@svc/test-support";
import { post } from "./support/stacks.ts";

const readme = new URL("../README.md", import.meta.url);

describe("the README", () => {
  it("ERR-18 LIM-1 has a sample whose route accepts only JSON", async () => {
    await using sample = await runSample(readme, 0);
    const url = `${await sample.url}/orders`;
    expect((await post(url, '{"a":1}')).body).to.deep.equal({ got: { a: 1 } });
    expect((await post(url, "a=1", { "Content-Type": "application/x-www-form-urlencoded" })).status).to.equal(
      415,
    );
    expect((await post(url, `["${"x".repeat(2 * 1024 * 1024)}"]`)).status).to.equal(413);
    expect((await post(url, "{")).body.detail).to.equal(
      "the body is not valid JSON at position 1 (line 1, column 2)",
    );
  });

  it("LIM-3 has a sample whose handler reads a small form", async () => {
    await using sample = await runSample(readme, 1);
    const url = `${await sample.url}/subscribe`;
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const taken = await fetch(url, { method: "POST", body: "email=ada%40example.com", headers: form });
    expect(await taken.json()).to.deep.equal({ email: "ada@example.com" });
    expect((await post(url, `email=${"x".repeat(1_000)}`, form)).body.detail).to.equal(
      "the body is larger than 1000 bytes",
    );
  });

  it("LIM-1 ERR-18 has a sample that parses forms", async () => {
    await using sample = await runSample(readme, 2);
    const url = `${await sample.url}/subscribe`;
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const { body } = await post(url, "email=ada%40example.com&topic=news&topic=art", form);
    expect(body).to.deep.equal({ email: "ada@example.com", topics: ["news", "art"] });
    expect((await post(url, "email=ada", form)).body).to.deep.equal({ email: "ada", topics: [] });
    expect((await post(url, "{}")).body).to.deep.equal({ topics: [] });
    expect((await post(url, "email=%", form)).status).to.equal(400);
    expect((await post(url, "a&".repeat(1_001), form)).status).to.equal(413);
  });

  it("ERR-18 has a sample that reads texts", async () => {
    await using sample = await runSample(readme, 3);
    const url = `${await sample.url}/notes`;
    for (const type of ["text/plain", "text/csv"])
      expect((await post(url, "a,b", { "Content-Type": type })).body).to.deep.equal({ got: "a,b" });
    expect((await post(url, '{"a":1}')).body).to.deep.equal({ got: { a: 1 } });
    expect((await post(url, "a", { "Content-Type": "text/plain; charset=latin1" })).status).to.equal(415);
  });

  for (const major of ["express", "express4"]) {
    it(`LIM-1 has a sample whose handler reads the stream of any type, on ${major}`, async () => {
      await using sample = await runSample(readme, 7, { replace: { 'from "express"': `from "${major}"` } });
      const url = await sample.url;
      for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain", ""]) {
        const body = "x".repeat(3 * 1024 * 1024);
        const headers = { "Content-Type": type };
        expect((await post(`${url}/imports`, body, headers)).body).to.deep.equal({ bytes: body.length });
      }
      expect((await post(`${url}/orders`, '{"a":1}')).body).to.deep.equal({ got: { a: 1 } });
      // A client that disconnects must not end the process.
      const { port } = new URL(url);
      const socket = connect(Number(port), "127.0.0.1");
      socket.write("POST /imports HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
      await new Promise((resolve) => socket.once("ready", () => setTimeout(resolve, 50)));
      socket.destroy();
      expect((await post(`${url}/imports`, "four")).body).to.deep.equal({ bytes: 4 });
    });
  }
});
