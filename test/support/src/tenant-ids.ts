/** Tenant ids that every package accepts (AUTH-39). */
export const goodTenantIds: readonly string[] = [
  "a",
  "acme",
  "Acme Ltd.",
  "é".repeat(255),
  "\u{1F600}".repeat(255),
  "a\u00a0b",
  "\u200b",
  "'; drop table items; --",
  "0",
];

/**
 * Values that every package rejects as a tenant id (AUTH-39), by their fault. Omits the empty string, which means that
 * there is no tenant.
 */
export const badTenantIds: Readonly<Record<string, string>> = {
  NUL: "a\0b",
  "CR LF": "a\r\nb",
  "a tab": "a\tb",
  ESC: "a\u001b[31m",
  DEL: "a\u007f",
  "a C1 control character": "a\u0085b",
  "the last C1 control character": "\u009f",
  "a lone high surrogate": "a\ud800",
  "a lone low surrogate": "\udc00a",
  "surrogates in the wrong order": "\ude00\ud83d",
  "256 characters": "a".repeat(256),
  "256 characters of two UTF-16 units": "\u{1F600}".repeat(256),
  "4,000 characters": "a".repeat(4000),
  "a space": " ",
  "white space": "\u00a0\u2003 ",
};
