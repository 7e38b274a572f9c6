import type { Embed } from "@svc/search-store";
import { expect } from "chai";
import { embedTexts } from "../src/embed.ts";
import { failureOf } from "./support/failure.ts";

const options = { dimensions: 2, precision: "half", embedBatch: 3, embedTimeoutSeconds: 3600 } as const;

describe("the embed callback", () => {
  it("receives texts in batches, and its results keep their order", async () => {
    const sizes: number[] = [];
    const embed: Embed = (texts) => {
      sizes.push(texts.length);
      return texts.map((text) => [1, Number(text)]);
    };
    const vectors = await embedTexts({ ...options, embed }, ["0", "1", "2", "3"]);
    expect(vectors).to.deep.equal([
      [1, 0],
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    expect(sizes).to.deep.equal([3, 1]);
  });

  it("is required for texts without an embedding", async () => {
    const error = await failureOf(embedTexts({ ...options, embed: undefined }, ["a"]));
    expect(error.code).to.equal("ERR_SVC_SEARCH_EMBED");
    expect(await embedTexts({ ...options, embed: undefined }, [])).to.deep.equal([]);
  });

  it("may throw or reject, and its error becomes the cause of the SearchError", async () => {
    const cause = new Error("the model is down");
    for (const embed of [
      () => {
        throw cause;
      },
      () => Promise.reject(cause),
    ]) {
      const error = await failureOf(embedTexts({ ...options, embed }, ["a"]));
      expect(error.code).to.equal("ERR_SVC_SEARCH_EMBED");
      expect(error.cause).to.equal(cause);
    }
  });

  it("must return one valid embedding for each text", async () => {
    const answers: [unknown, string][] = [
      [undefined, "ERR_SVC_SEARCH_EMBED"],
      [{ data: [] }, "ERR_SVC_SEARCH_EMBED"],
      [[], "ERR_SVC_SEARCH_EMBED"],
      [
        [
          [1, 2],
          [1, 2],
        ],
        "ERR_SVC_SEARCH_EMBED",
      ],
      [[[1]], "ERR_SVC_SEARCH_VECTOR"],
      [[[0, 0]], "ERR_SVC_SEARCH_VECTOR"],
      [[[NaN, 0]], "ERR_SVC_SEARCH_VECTOR"],
      [[undefined], "ERR_SVC_SEARCH_VECTOR"],
    ];
    for (const [answer, code] of answers) {
      const embed = (() => answer) as Embed;
      expect(
        (await failureOf(embedTexts({ ...options, embed }, ["a"]))).code,
        JSON.stringify(answer),
      ).to.equal(code);
    }
  });

  it("is cancelled through its signal when it hangs", async () => {
    let received: AbortSignal | undefined;
    const embed: Embed = (_texts, { signal }) => {
      received = signal;
      return new Promise(() => undefined);
    };
    const error = await failureOf(embedTexts({ ...options, embed, embedTimeoutSeconds: 0.05 }, ["a"]));
    expect(error.code).to.equal("ERR_SVC_SEARCH_EMBED");
    expect(error.message).to.equal("embed took more than 0.05 s");
    expect(received?.aborted).to.equal(true);
  });

  it("is cancelled when the caller aborts, with the caller's reason", async () => {
    const caller = new AbortController();
    const reason = new Error("gone");
    const embed: Embed = () => {
      queueMicrotask(() => caller.abort(reason));
      return new Promise(() => undefined);
    };
    expect(await failureOf(embedTexts({ ...options, embed }, ["a"], caller.signal))).to.equal(reason);
    expect(await failureOf(embedTexts({ ...options, embed }, ["a"], caller.signal))).to.equal(reason);
  });
});
