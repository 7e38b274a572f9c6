/** The names of the entries. What one script touches in a cluster shares the part in braces, and so a slot. */
export interface Keys {
  /** That a session was revoked. */
  family(fam: string): string;
  /** That a refresh token was used; beside its session. */
  use(fam: string, jti: string): string;
  /** That a token was revoked by its id, which is all that is known of it then. */
  token(jti: string): string;
  /** Since when the sessions of a person count. */
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

// The first closing brace ends the tag, and an empty tag is none. Halves of surrogate pairs would all travel as the same
// character.
function tag(id: string): string {
  if (id === "") return "%";
  if (!id.isWellFormed()) return `%%${Buffer.from(id, "utf16le").toString("hex")}`;
  return id.includes("}") || id.includes("%") ? id.replace(/[%}]/g, encodeURIComponent) : id;
}
