import { unprocessable, type ValidationIssue } from "@svc/problem";

/** What somebody types to sign in. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** Longer than any address, and than any password that somebody types; scrypt reads all of it. */
const mostCharacters = { email: 254, password: 200 } as const;

/** What is sent by a program. @throws ProblemError 422 that lists all that is wrong with it, and quotes nothing */
export function credentialsOf(body: unknown): Credentials {
  const { email, password } =
    typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  const issues: ValidationIssue[] = [];
  if (!isText(email, mostCharacters.email)) issues.push(issue("email"));
  if (!isText(password, mostCharacters.password)) issues.push(issue("password"));
  if (issues.length > 0) throw unprocessable(issues);
  return { email, password } as Credentials;
}

/** What a form has sent; undefined where a field is empty or too long. */
export function credentialsIn(form: URLSearchParams): Credentials | undefined {
  const [email, password] = [form.get("email")?.trim(), form.get("password")];
  return isText(email, mostCharacters.email) && isText(password, mostCharacters.password)
    ? { email, password }
    : undefined;
}

// PostgreSQL takes no NUL, and half a surrogate pair is no character.
function isText(value: unknown, most: number): value is string {
  return (
    typeof value === "string" && value !== "" && value.length <= most && !/\0|\p{Surrogate}/u.test(value)
  );
}

function issue(name: keyof typeof mostCharacters): ValidationIssue {
  const msg = `must be a text of 1 to ${mostCharacters[name]} characters`;
  return { type: "value", loc: ["body", name], msg };
}
