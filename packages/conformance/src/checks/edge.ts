import { type Check, check, given } from "../check.ts";
import { grant } from "../grant.ts";
import { is, must, mustBe, notApplicable, ruledOut } from "../verdict.ts";
import { linesAbout } from "./logs.ts";

/** Headers that every HTML page must have. */
const pageHeaders: readonly string[] = [
  "content-security-policy",
  "cross-origin-opener-policy",
  "cross-origin-resource-policy",
  "referrer-policy",
  "x-content-type-options",
  "x-frame-options",
];

export const edgeChecks: readonly Check[] = [
  check("EDGE-1", {}, async (kit) => {
    const id = kit.unique();
    const forged = [
      ["X-Forwarded-For", "203.0.113.77"],
      ["X-Forwarded-Host", "forged.example"],
      ["X-Forwarded-Proto", "https"],
      ["X-Request-ID", id],
    ] as const;
    const answer = await kit.get(`/${id}`, { headers: forged });
    const lines = await linesAbout(kit, id);
    const texts = [
      answer.text,
      ...answer.headers.map(([, value]) => value),
      ...lines.map(({ text }) => text),
    ];
    const believed = texts.some((text) => /203\.0\.113\.77|forged\.example/.test(text));
    return must(
      !believed,
      "X-Forwarded-* from an untrusted client was returned or logged",
      "X-Forwarded-* ignored",
    );
  }),
  check("EDGE-3", { needs: ["probe:open"] }, async (kit) => {
    const open = given(kit.settings.probes.open);
    const { status } = await kit.ask(open, { host: "stranger.example" });
    const trusted = kit.has("trusted_hosts");
    return must(
      trusted === (status >= 400 && status < 500),
      `${status} for Host: stranger.example`,
      trusted ? "a refusal" : "a response for any host",
    );
  }),
  check("EDGE-4", {}, async (kit) => {
    if (kit.has("cors")) return ruledOut("CORS is on");
    const answer = await kit.get("/health", { headers: [["Origin", "https://stranger.example"]] });
    const allowed = answer.header("access-control-allow-origin");
    return mustBe(allowed === undefined, { "Access-Control-Allow-Origin": allowed }, "no CORS headers");
  }),
  check("EDGE-6", { needs: ["security_headers", "probe:html"] }, async (kit) => {
    const html = given(kit.settings.probes.html);
    const answer = await kit.ask(html, { token: grant(kit) });
    if (answer.mediaType !== "text/html")
      return notApplicable(`the probe \`html\` responds with ${answer.mediaType}`);
    const missing = pageHeaders.filter((name) => answer.header(name) === undefined);
    return must(missing.length === 0, `no ${missing.join(", ")}`, "all security headers on an HTML page");
  }),
  check("EDGE-7", { needs: ["security_headers"] }, async function* (kit) {
    const answer = await kit.get("/health");
    const policy = answer.header("content-security-policy") ?? "";
    yield is("X-Content-Type-Options", answer.header("x-content-type-options"), "nosniff");
    yield must(
      answer.header("x-frame-options") !== undefined,
      "no X-Frame-Options",
      "an X-Frame-Options header",
    );
    yield must(
      answer.header("referrer-policy") !== undefined,
      "no Referrer-Policy",
      "a Referrer-Policy header",
    );
    yield mustBe(
      /default-src 'none'/.test(policy),
      { "Content-Security-Policy": policy },
      "default-src 'none'",
    );
  }),
];
