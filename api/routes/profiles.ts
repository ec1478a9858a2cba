import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { knownProfiles } from '#jobs/submission/known-profiles.ts';
import { checkProfiles } from '#platform/config/profile-check.ts';
import { writeProfile } from '#platform/config/written-profiles.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { validated } from '../validated.ts';
import {
  listedProfileToWire,
  profileCheckBodySchema,
  profileCheckSchema,
  profileCheckToWire,
  profileListSchema,
  profileSchema,
} from '../wire/profile.ts';

// Encoding profiles: which there are, and what one that is being written would make. They are changed in
// `MEDIA_PROFILES` or as MediaProfiles, never by a request.

const shared = { tag: 'Profiles', credential: 'api_key' } as const;

const docs = {
  list: {
    ...shared,
    operationId: 'listProfiles',
    right: 'read',
    subject: 'nothing',
    summary: 'List the encoding profiles, and the rules that choose one',
    answers: { 200: { description: 'All profiles, by name.', schemas: [profileListSchema] } },
    problems: [],
  },
  find: {
    ...shared,
    operationId: 'getProfile',
    right: 'read',
    subject: 'nothing',
    summary: 'Show an encoding profile as it is written',
    path: { name: 'The profile.' },
    answers: { 200: { description: 'The profile.', schemas: [profileSchema] } },
    problems: ['not_found'],
  },
  check: {
    ...shared,
    operationId: 'checkProfiles',
    right: 'read',
    subject: 'nothing',
    summary: 'Check profiles that are being written',
    description:
      'Names every fault with its line, as `reelwright profiles check` does, and states the ladder and the largest size of the stream that each profile would make of `source`. Nothing is changed. At most 120 requests a minute for each API key.',
    isLimited: true,
    body: { schema: profileCheckBodySchema, isRequired: true },
    answers: { 200: { description: 'The faults, or what would be made.', schemas: [profileCheckSchema] } },
    problems: [],
  },
} as const satisfies Record<string, RouteDoc>;

/** `GET /api/profiles`, `GET /api/profiles/{name}` and `POST /api/profiles/check`. */
export function addProfileRoutes(
  app: FastifyInstance,
  dependencies: Pick<ApiDependencies, 'config' | 'profiles'> & { readonly guards: Guards },
): void {
  const { guards } = dependencies;
  const onRequest = guards.authenticated;

  app.get(
    '/api/profiles',
    { onRequest, config: { doc: docs.list } },
    async (): Promise<z.output<typeof profileListSchema>> => {
      const { profiles, rules } = await knownProfiles(dependencies);
      return {
        profiles: profiles.map(listedProfileToWire),
        rules: rules.map(({ profile, source_prefix: prefix, source_bytes_min: min, source_bytes_max: max }) => ({
          profile,
          source_prefix: prefix ?? null,
          source_bytes_min: min ?? null,
          source_bytes_max: max ?? null,
        })),
      };
    },
  );

  app.get<{ Params: { name: string } }>(
    '/api/profiles/:name',
    { onRequest, config: { doc: docs.find } },
    async ({ params }): Promise<z.output<typeof profileSchema>> => {
      const { profiles } = await knownProfiles(dependencies);
      const known = profiles.find(({ profile }) => profile.name === params.name);
      if (known === undefined) throw new KnownProblem('not_found', 'There is no such profile.');
      return { ...listedProfileToWire(known), yaml: writeProfile(known.profile) };
    },
  );

  app.post(
    '/api/profiles/check',
    { onRequest: guards.limitedByCheck, config: { doc: docs.check } },
    async (request): Promise<z.output<typeof profileCheckSchema>> => {
      const { text, source } = validated(profileCheckBodySchema, request.body);
      const { duration_sec: durationSec, ...frame } = source;
      return profileCheckToWire(await checkProfiles(text), { ...frame, durationSec });
    },
  );
}
