import { expect, it } from 'vitest';
import { loadConfig } from './config.ts';
import { misspeltVariables } from './misspelt.ts';

const known = new Set(['API_KEY', 'LOG_LEVEL', 'REDIS_URL', 'RUNNER_IMAGE_PULL_SECRETS', 'MODE']);

it.each([
  ['API_KEYS', 'API_KEY'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['REDIS_URI', 'REDIS_URL'],
  ['RUNNER_IMAGE_PULL_SECRET', 'RUNNER_IMAGE_PULL_SECRETS'],
  ['API_KEI_FILE', 'API_KEY'],
])('the unknown variable %s is reported with the nearest known name %s', (variable, nearest) => {
  expect(misspeltVariables({ [variable]: 'x' }, known)).toEqual([{ variable, nearest }]);
});

it('known variables, files of them, and variables of other programs are not reported', () => {
  const env = { API_KEY: 'x', API_KEY_FILE: 'x', NODE: 'x', PATH: 'x', REDIS_PORT: 'x', HOSTNAME: 'x', LOG_LEVEL: '' };
  expect(misspeltVariables(env, known)).toEqual([]);
});

it('a loaded configuration names its misspelt variables', () => {
  const env = {
    DATABASE_URL: 'postgres://db/x',
    MEDIA_BUCKET: 'media',
    MODE: 'server',
    SERVER_SURFACES: 'delivery',
    KEY_TOKEN_SECRET: 'key-token-secret-0123456789',
    ENCRYPTION_KEY: 'encryption-key-0123456789',
    DELIVERY_CACHE_SISE: '1GiB',
  };
  expect(loadConfig(env, [])).toMatchObject({
    misspelt: [{ variable: 'DELIVERY_CACHE_SISE', nearest: 'DELIVERY_CACHE_SIZE' }],
  });
});
