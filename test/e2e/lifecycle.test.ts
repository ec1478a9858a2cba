import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { putLongClip, putImage } from './support/clips.ts';
import { helm, kubectl, kubectlJson } from './support/kubectl.ts';
import type { List, PodObject } from './support/objects.ts';
import { installRelease, release } from './support/release.ts';
import {
  cancelUnfinished,
  completed,
  eventually,
  inRunners,
  mediaJob,
  newHash,
  podAtStep,
  post,
  runnerPods,
  submit,
} from './support/service.ts';
import { startReceiver } from './support/webhooks.ts';

let image: string;
let longClip: string;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  image = await putImage();
  longClip = await putLongClip();
  receiver = await startReceiver();
});
afterEach(cancelUnfinished);
afterAll(() => receiver.close());

const transcode = () => submit({ type: 'video:transcode', source: longClip, callback_url: receiver.url });

test('`helm upgrade` loses no running job and accepts submissions throughout', async () => {
  const { values } = inject('e2e');
  const videos = await Promise.all([transcode(), transcode(), transcode(), transcode()]);
  // The pool runs three of the four at once.
  const pod = await podAtStep(null, 'process');
  const before = await podsOfRelease();

  const upgraded = { isDone: false };
  const images: string[] = [];
  const submitting = (async () => {
    while (!upgraded.isDone) {
      const answer = await post({
        type: 'image:thumbnail',
        hash: newHash(),
        source: image,
        callback_url: receiver.url,
      });
      expect([200, 202]).toContain(answer.status);
      images.push(String(answer.body['job_id']));
      await sleep(1_000);
    }
  })();
  // A setting restarts only the deployments that read it; an annotation of their pods restarts all three.
  const restarted = { podAnnotations: { 'example.com/restarted': newHash() } };
  await installRelease({
    ...values,
    api: { ...values.api, ...restarted },
    delivery: { ...values.delivery, ...restarted },
    controller: { ...values.controller, ...restarted },
  });
  upgraded.isDone = true;
  await submitting;

  const after = await eventually(podsOfRelease, (names) => names.length === 6);
  expect(after.filter((name) => before.includes(name))).toEqual([]);
  expect(images.length).toBeGreaterThan(3);
  const jobs = [];
  for (const id of [...videos, ...images]) jobs.push(await completed(id));
  // A running pod continues; a job that was claimed while the leader changed may need one more attempt.
  const runningJob = pod.metadata.labels?.['reelwright.dev/job-id'];
  expect(jobs.find(({ job_id: id }) => id === runningJob)).toMatchObject({ attempt: 1 });
  expect(jobs.filter(({ attempt }) => attempt > 2)).toEqual([]);
  const pods = await runnerPods();
  expect(pods.filter(({ metadata }) => metadata.uid === pod.metadata.uid)[0]?.status.phase).toBe('Succeeded');

  await eventually(
    () => Promise.resolve([...videos, ...images].filter((id) => receiver.about(id).length === 0)),
    (withoutWebhook) => withoutWebhook.length === 0,
  );
  expect([...videos, ...images].map((id) => receiver.about(id).length)).toEqual(jobs.map(() => 1));
});

test('`helm uninstall` keeps the CRDs and every MediaJob, and a running job completes after the next install', async () => {
  const { values } = inject('e2e');
  const id = await transcode();
  await podAtStep(id, 'process');
  await helm('uninstall', release.name, '-n', release.namespace, '--wait', '--timeout', '90s');

  const definitions = await kubectl('get', 'crd', '-o', 'name');
  for (const plural of ['mediajobs', 'mediaprofiles', 'mediarollouts', 'runnerpools'])
    expect(definitions).toContain(`customresourcedefinition.apiextensions.k8s.io/${plural}.reelwright.dev`);
  expect((await mediaJob(`mj-${id}`)).metadata.deletionTimestamp).toBeUndefined();
  expect(await inRunners('get', 'rp', '-o', 'name')).toContain('runnerpool.reelwright.dev/video-large');
  expect(await podsOfRelease()).toEqual([]);

  await installRelease(values);
  expect(await completed(id)).toMatchObject({ attempt: 1 });
  await inRunners('wait', '--for=condition=Complete', '--timeout=60s', `mj/mj-${id}`);
  const thumbnail = await submit({ type: 'image:thumbnail', source: image });
  await completed(thumbnail);
});

async function podsOfRelease(): Promise<string[]> {
  const { items } = await kubectlJson<List<PodObject>>('-n', release.namespace, 'get', 'pods');
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(({ metadata }) => metadata.name);
}
