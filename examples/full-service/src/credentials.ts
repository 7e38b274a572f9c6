import type { Schema } from "@svc/openapi";
import { unprocessable, type ValidationIssue } from "@svc/problem";

/** E-mail address and password of a sign-in. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** Upper limits in characters; scrypt hashes the whole password, so its length needs a limit. */
const mostCharacters = { email: 254, password: 200 } as const;

const textOf = (maxLength: number) => ({ type: "string", minLength: 1, maxLength }) as const;

const members = { email: textOf(mostCharacters.email), password: textOf(mostCharacters.password) };

/** Schema of the credentials that a program sends. */
export const credentialsBody: Schema = {
  schema: { type: "object", required: ["email", "password"], properties: members },
};

/** Schema of the form of the sign-in page, which may be incomplete. */
export const credentialsForm: Schema = {
  schema: {
    type: "object",
    properties: {
      email: { type: "string" },
      password: { type: "string" },
      return_to: { type: "string", description: "The path to which the browser is redirected." },
    },
  },
};

/** Reads the credentials that a program sends. @throws ProblemError 422 that lists all faults without quoting values */
export function credentialsOf(body: unknown): Credentials {
  const { email, password } =
    typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  const issues: ValidationIssue[] = [];
  if (!isText(email, mostCharacters.email)) issues.push(issue("email"));
  if (!isText(password, mostCharacters.password)) issues.push(issue("password"));
  if (issues.length > 0) throw unprocessable(issues);
  return { email, password } as Credentials;
}

/** Reads the credentials of a form; undefined if a field is empty or too long. */
export function credentialsIn(form: URLSearchParams): Credentials | undefined {
  const [email, password] = [form.get("email")?.trim(), form.get("password")];
  return isText(email, mostCharacters.email) && isText(password, mostCharacters.password)
    ? { email, password }
    : undefined;
}

// PostgreSQL rejects NUL, and a lone surrogate is not a character.
function isText(value: unknown, most: number): value is string {
  return (
    typeof value === "string" && value !== "" && value.length <= most && !/\0|\p{Surrogate}/u.test(value)
  );
}

function issue(name: keyof typeof mostCharacters): ValidationIssue {
  const msg = `must be a string of 1 to ${mostCharacters[name]} characters`;
  return { type: "value", loc: ["body", name], msg };
}
