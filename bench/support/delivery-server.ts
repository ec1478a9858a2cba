import { type Program, secrets, startProgram } from '../../testing/programs.ts';

/**
 * The program as a server of the surface `delivery` alone, with its default settings but for `variables`, over a folder as the media
 * bucket.
 */
export function startDeliveryServer(
  mediaDir: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const env = {
    MODE: 'server',
    SERVER_SURFACES: 'delivery',
    KEY_TOKEN_SECRET: secrets.KEY_TOKEN_SECRET,
    ENCRYPTION_KEY: secrets.ENCRYPTION_KEY,
    // Streams and images need no database, and there is none.
    DATABASE_URL: 'postgres://unused@127.0.0.1:1/none',
    MEDIA_BUCKET: `file:${mediaDir}`,
    LOG_LEVEL: 'warn',
    ...variables,
  };
  return startProgram({ env, waits: 'alive' });
}
