import { z } from "zod";

/** The tokens of a session, as programs get them. */
export const tokenPair = z
  .strictObject({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.literal("Bearer"),
    expires_in: z.int().meta({ description: "The lifetime of the access token in seconds." }),
  })
  .meta({ id: "TokenPair" });
