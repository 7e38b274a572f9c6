/** Builds the keys. In a cluster, keys that one script touches have the same text in braces, and so the same slot. */
export interface Keys {
  /** Marks a session as revoked. */
  family(fam: string): string;
  /** Marks a refresh token as used; in the slot of its session. */
  use(fam: string, jti: string): string;
  /** Marks a token as revoked. In a slot of its own, since a revocation by id does not name the session. */
  token(jti: string): string;
  /** Holds the moment before which the sessions of a person are revoked. */
  subject(sub: string): string;
}

export function keysWith(prefix: string): Keys {
  return {
    family: (fam) => `${prefix}f:{${tag(fam)}}`,
    use: (fam, jti) => `${prefix}u:{${tag(fam)}}${tag(jti)}`,
    token: (jti) => `${prefix}j:{${tag(jti)}}`,
    subject: (sub) => `${prefix}s:{${tag(sub)}}`,
  };
}

// Redis ends a hash tag at the first closing brace and ignores an empty tag. UTF-8 would also write all unpaired
// surrogates as the same character.
function tag(id: string): string {
  if (id === "") return "%";
  if (!id.isWellFormed()) return `%%${Buffer.from(id, "utf16le").toString("hex")}`;
  return id.includes("}") || id.includes("%") ? id.replace(/[%}]/g, encodeURIComponent) : id;
}
