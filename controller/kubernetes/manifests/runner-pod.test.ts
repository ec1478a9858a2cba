import { expect, it } from 'vitest';
import { accessOf } from '#domain/work/access.ts';
import type { StepName } from '#domain/work/steps.ts';
import { exampleTemplate } from '../../../testing/k8s/example-template.ts';
import { runnerPod } from './runner-pod.ts';

const encrypted = { type: 'video:transcode', options: { encrypt: true } } as const;

/** A step of the unit `whole` of an encrypted stream. */
function stepOf(name: StepName) {
  const access = accessOf(name, 'whole', encrypted);
  return { name, args: [name], access, variables: { A: 'a' }, keySecret: access.hasContentKey ? 'mj-1-key' : null };
}

const variable = (name: string, value: string) => ({ name, value });
const secret = (name: string, of: string) => ({ name, valueFrom: { secretKeyRef: { name: of, key: name } } });
const [own, log] = [variable('A', 'a'), variable('RUNNER_TERMINATION_LOG', '/dev/termination-log')];

/** A container of it, with what differs between the steps. */
const containerOf = (name: StepName, env: readonly object[], volumeMounts: readonly object[]) => ({
  name,
  image: 'runner:1',
  imagePullPolicy: 'IfNotPresent',
  args: [name],
  env,
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  volumeMounts: [...volumeMounts, { name: `tmp-${name}`, mountPath: '/tmp' }],
});

it('the pod of an encrypted stream has a container for each step, with nothing that the step does not need', () => {
  const template = { ...exampleTemplate, image: { ...exampleTemplate.image, pullSecrets: ['pull'] } };
  const steps = (['fetch', 'process', 'publish'] as const).map(stepOf);
  const of = {
    labels: { l: '1' },
    annotations: { a: '1' },
    pool: { concurrency: 1 },
    activeDeadlineSeconds: 60,
    steps,
  };
  const workspace = { name: 'workspace', mountPath: '/workspace' };
  const output = { name: 'output', mountPath: '/output' };
  const keysOf = (which: 'SOURCE' | 'MEDIA', name: string) =>
    [`${which}_S3_ACCESS_KEY_ID`, `${which}_S3_SECRET_ACCESS_KEY`].map((each) => secret(each, name));
  const publishes = [own, variable('RUNNER_OUTPUT', '/output'), variable('TMPDIR', '/output'), log];
  expect(runnerPod(of, template)).toEqual({
    metadata: { labels: { l: '1' }, annotations: { a: '1', 'eks.amazonaws.com/skip-containers': 'process' } },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: 60,
      terminationGracePeriodSeconds: 5,
      serviceAccountName: 'runner',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_001,
        runAsGroup: 10_001,
        fsGroup: 10_001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      imagePullSecrets: [{ name: 'pull' }],
      initContainers: [
        containerOf('fetch', [own, log, ...keysOf('SOURCE', 'source-keys')], [workspace]),
        containerOf('process', [own, log], [workspace]),
      ],
      containers: [
        containerOf(
          'publish',
          [...publishes, ...keysOf('MEDIA', 'media-keys'), secret('CONTENT_KEY', 'mj-1-key')],
          [{ ...workspace, readOnly: true }, output],
        ),
      ],
      volumes: [
        { name: 'workspace', emptyDir: {} },
        { name: 'output', emptyDir: {} },
        ...['fetch', 'process', 'publish'].map((name) => ({ name: `tmp-${name}`, emptyDir: { sizeLimit: '256Mi' } })),
      ],
    },
  });
});
