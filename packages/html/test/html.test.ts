import { type Html, link, markup, trusted } from "@svc/html";
import { expect } from "chai";

describe("markup", () => {
  it("escapes strings for text and for attributes in double quotes", () => {
    const name = `<b title='x'>"&`;
    expect(markup`<p title="${name}">${name}</p>`.text).to.equal(
      `<p title="&lt;b title=&#39;x&#39;&gt;&quot;&amp;">&lt;b title=&#39;x&#39;&gt;&quot;&amp;</p>`,
    );
  });

  it("includes numbers, HTML and lists of HTML, and omits false and undefined", () => {
    const items = ["a", "b"].map((each) => markup`<li>${each}</li>`);
    expect(markup`<ul>${items}</ul>${1.5}${false}${undefined}${items[0]}${[]}`.text).to.equal(
      "<ul><li>a</li>\n<li>b</li></ul>1.5<li>a</li>",
    );
  });

  it("replaces control characters but keeps tabs and line breaks", () => {
    expect(markup`${"a\u0000b\u001b\u007f\u0085\t\n\r"}`.text).to.equal("a\ufffdb\ufffd\ufffd\ufffd\t\n\r");
  });

  it("throws a TypeError for an object from a client, regardless of its members", () => {
    for (const value of [
      { text: "<b>" },
      [{ text: "<b>" }],
      { "@svc/html": true, text: "<b>" },
      null,
      true,
    ]) {
      const given = JSON.parse(JSON.stringify(value)) as Html;
      expect(() => markup`${given}`, JSON.stringify(value)).to.throw(TypeError, "a value must be a string");
    }
  });
});

describe("link", () => {
  it("links to web pages, with the address as the title if the page has no title", () => {
    expect(link("HTTPS://example.com/?a=1&b", "").text).to.equal(
      `<a href="HTTPS://example.com/?a=1&amp;b" rel="noreferrer">HTTPS://example.com/?a=1&amp;b</a>`,
    );
  });

  it("shows other addresses as text", () => {
    for (const address of [
      "javascript:alert(1)",
      " https://example.com",
      "//example.com",
      "data:text/html,x",
    ])
      expect(link(address, "<Manual>").text).to.equal(`&lt;Manual&gt; ${address}`);
  });
});

describe("trusted", () => {
  it("includes text without escaping", () => {
    expect(markup`<style>${trusted("p > b {}")}</style>`.text).to.equal("<style>p > b {}</style>");
  });
});
