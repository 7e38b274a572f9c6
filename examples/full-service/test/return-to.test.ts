import { expect } from "chai";
import { localPath, signInAddress } from "../src/return-to.ts";

describe("the target of a redirect after a sign-in", () => {
  it("is a normalized path on this site, with query and fragment", () => {
    const paths = {
      "/": "/",
      "/expenses?month=2026-03#top": "/expenses?month=2026-03#top",
      "/a/../b": "/b",
      "/caf%C3%A9": "/caf%C3%A9",
      "/x?return_to=//evil.example": "/x?return_to=//evil.example",
    };
    for (const [given, path] of Object.entries(paths)) expect(localPath(given)).to.equal(path);
  });

  it("is undefined for a value that a browser could interpret as another site", () => {
    const elsewhere = [
      "",
      "account",
      "//evil.example",
      "///evil.example",
      "/\\evil.example",
      "\\\\evil.example",
      "/\t/evil.example",
      "/\n/evil.example",
      " //evil.example",
      "/.//evil.example",
      "/a/..//evil.example",
      "/%2e//evil.example",
      "https://evil.example",
      "https:evil.example",
      "javascript:alert(1)",
      `/${"a".repeat(1024)}`,
      null,
      undefined,
      7,
      ["/account"],
    ];
    for (const each of elsewhere) expect(localPath(each), JSON.stringify(each)).to.equal(undefined);
  });

  it("is part of the sign-in page's address unless it is the default", () => {
    expect(signInAddress("/account", false)).to.equal("/sign-in");
    expect(signInAddress("/account", true)).to.equal("/sign-in?ended=1");
    expect(signInAddress("/x?a=b&c", false)).to.equal("/sign-in?return_to=%2Fx%3Fa%3Db%26c");
  });
});
