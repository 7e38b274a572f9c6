import { openTestLogin, type OpenTestLogin } from "@svc/dev-services";

export type Login = OpenTestLogin;

/**
 * Creates a login that may create tables and is not a superuser: a superuser bypasses row security.
 *
 * @param attributes attributes for `create role`
 */
export function makeLogin(url: string, attributes?: string): Promise<Login> {
  return openTestLogin({ url, attributes, grants: ["grant usage, create on schema public to login"] });
}
