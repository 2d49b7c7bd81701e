// Each failure that a user meets, in one session of the editor: the message says what and why, its button leads to the repair.
// Takes an editor with the files of `FAILING`; gives the checks. After a repair the profile comes by itself.
import assert from "node:assert/strict";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  JOB_TIMEOUT,
  command,
  cursorLine,
  kernelTime,
  plain,
  ready,
  runs,
  serversIn,
  statusItem,
  until,
  untilEqual,
} from "./page.mjs";

const KERNEL = "__global__ void add_one(int* data) { data[threadIdx.x] += 1; }\n";
const START = "#include <hip/hip_runtime.h>\n#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n\n";
const LAUNCH = `  int* data;
  if (hipMalloc(&data, 256) != hipSuccess) return 9;
  add_one<<<1, 64>>>(data);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 8;
}
`;

/** A program of one kernel that fails before its launch, unless what stands there is mended. */
function program(before, kernel = KERNEL) {
  return `${START}${kernel}\nint main(int argc, char** argv) {\n${before}${LAUNCH}`;
}

const FILE_MISSING = `  FILE* input = fopen("data/input.bin", "rb");
  if (input == nullptr) {
    std::fprintf(stderr, "cannot read the input\\n");
    return 3;
  }
`;
const USAGE = `  if (argc < 2 || std::atoi(argv[1]) < 1) {
    std::printf("usage: %s COUNT\\n", argv[0]);
    return 1;
  }
`;
const WEATHER = `  for (int i = 1; i < 8; ++i) std::printf("line %d of the forecast\\n", i);
  if (argc > 0) {
    std::fprintf(stderr, "this program wants the weather to be fine\\n");
    return 1;
  }
`;

export const FAILING = {
  "syntax.hip": program("", KERNEL.replace("+= 1;", "+= 1")),
  "settings/mistaken.hip": program(""),
  "settings/hipscope.toml": '# how it is built\ndevice = "mi300x"\ntimout_s = 30\n',
  "exit.hip": program(WEATHER),
  "arguments.hip": program(USAGE),
  "data.hip": program(FILE_MISSING),
  "kernels.hip": START + KERNEL,
  "slow/limited.hip": program("  usleep(2000000);\n"),
  "slow/hipscope.toml": "timeout_s = 1\n",
  "compiler.hip": `// lacks a compiler\n${program("")}`,
  "room.hip": `// lacks room\n${program("")}`,
  "long.hip": program('  prctl(PR_SET_NAME, "hipscope-long");\n  for (;;) pause();\n').replace(
    "<unistd.h>",
    "<unistd.h>\n#include <sys/prctl.h>",
  ),
};

/** A folder for PATH whose `apt-get` installs what `compiler.hip` lacks. */
export async function installerIn(folder, workspace) {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries({
    "apt-get": `#!/bin/sh\necho "installing: $*"\ntouch "${workspace}/installed"\n`,
    sudo: '#!/bin/sh\nexec "$@"\n',
  })) {
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  }
}

export function failureChecks(editor, pictures) {
  const { page, workspace } = editor;
  const toast = page.locator(".notification-toast");
  const picture = (name) => page.screenshot({ path: join(pictures, `failure-${name}.png`) });
  const read = (name) => readFile(join(workspace, name), "utf8");

  /** Opens a file, with no message on the screen. */
  const open = async (name) => {
    const file = name.split("/").at(-1);
    if ((await toast.count()) > 0) await command(page, "Notifications: Clear All Notifications");
    await page.keyboard.press("Control+p");
    await page.locator(".quick-input-widget input").first().fill(file);
    await page.locator(".quick-input-list .monaco-list-row", { hasText: file }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".tab.active", { hasText: file }).first().waitFor();
  };

  /** What a message says and has; pressing one of its buttons takes it away. */
  const told = async (name, says, buttons) => {
    const message = toast.filter({ hasText: says[0] }).first();
    await message.waitFor({ timeout: JOB_TIMEOUT });
    for (const title of buttons) await message.getByRole("button", { name: title }).waitFor();
    await picture(name);
    const text = plain(await message.innerText());
    for (const words of says) assert.match(text, words);
    assert.doesNotMatch(text, /_Z\w|\/build\/|\.cache|\/tmp\//);
    return {
      press: async (title) => {
        await message.getByRole("button", { name: title }).click();
        await message.waitFor({ state: "hidden" });
      },
    };
  };
  const fails = async (name, file, says, buttons) => {
    await open(file);
    await statusItem(page).click(); // red after a failure, too: profiles again
    return told(name, says, buttons);
  };
  const profiled = async (name) => {
    await until(async () => (await kernelTime(page)) !== null, "the time of the kernel", 30_000);
    await picture(`${name}-mended`);
  };
  const servers = () => serversIn(workspace);

  return [
    [
      "a syntax error: the button goes to it, a save of the correction profiles",
      async () => {
        await ready(page);
        const { press } = await fails(
          "syntax",
          "syntax.hip",
          [/expected ';'.*: syntax\.hip:6/],
          ["Go to the Error"],
        );
        await press("Go to the Error");
        await untilEqual(() => cursorLine(page), 6);
        await page.keyboard.press("End");
        await page.keyboard.press("ArrowLeft");
        await page.keyboard.press("ArrowLeft");
        await page.keyboard.type(";");
        await page.keyboard.press("Control+s");
        await profiled("syntax");
      },
    ],
    [
      "a mistake in hipscope.toml: the button goes to the key, a save of the correction profiles",
      async () => {
        const says = [/unknown key `timout_s`; did you mean `timeout_s`\?: settings\/hipscope\.toml:3/];
        const { press } = await fails("settings", "settings/mistaken.hip", says, ["Open hipscope.toml"]);
        await press("Open hipscope.toml");
        await page.locator(".tab.active", { hasText: "hipscope.toml" }).first().waitFor();
        await untilEqual(() => cursorLine(page), 3);
        await page.keyboard.press("Home");
        for (let i = 0; i < 3; ++i) await page.keyboard.press("ArrowRight");
        await page.keyboard.type("e");
        await page.keyboard.press("Control+s");
        await statusItem(page)
          .filter({ hasText: /us · add_one/ })
          .waitFor();
      },
    ],
    [
      "an exit code: the message has what the program printed last, its button all of it",
      async () => {
        const says = [/exit\.hip left with exit code 1/, /printed: .*line 7.*the weather/];
        const { press } = await fails("exit", "exit.hip", says, [/^Set arguments/, "Show All It Printed"]);
        await press("Show All It Printed");
        // What the channel keeps is not shown here: the editor's module for logs is not compiled in the tests.
        await page
          .locator(".part.panel")
          .getByRole("tab", { name: /Output/, selected: true })
          .waitFor();
        await picture("exit-mended");
        await command(page, "View: Toggle Panel Visibility");
      },
    ],
    [
      "arguments that it needs: typed into the box they are written into the source, and it is profiled",
      async () => {
        const says = [/arguments\.hip left with exit code 1/, /usage: program COUNT/];
        const { press } = await fails("arguments", "arguments.hip", says, [/^Set arguments/]);
        await press(/^Set arguments/);
        await page.locator(".quick-input-widget", { hasText: "As in a shell" }).waitFor();
        await page.locator(".quick-input-widget input").first().fill("7");
        await page.keyboard.press("Enter");
        await profiled("arguments");
        await page.locator(".view-line", { hasText: "// hipscope: run 7" }).first().waitFor();
      },
    ],
    [
      "data that is not there: the button goes to its name, and it is profiled when the file comes",
      async () => {
        const says = [/data\.hip left with exit code 3/, /data\/input\.bin/, /cannot read the input/];
        const { press } = await fails("data", "data.hip", says, ["Go to the Name of the File"]);
        await press("Go to the Name of the File");
        await untilEqual(() => cursorLine(page), 9);
        await mkdir(join(workspace, "data"));
        await writeFile(join(workspace, "data/input.bin"), "1");
        await profiled("data");
      },
    ],
    [
      "no main: the button writes a bench above the kernel, and it is profiled",
      async () => {
        const { press } = await fails(
          "main",
          "kernels.hip",
          [/no `main` function.*: kernels\.hip/],
          ["Write a Bench"],
        );
        await press("Write a Bench");
        await page.locator(".view-line", { hasText: "// hipscope: bench add_one" }).first().waitFor();
        await profiled("main");
      },
    ],
    [
      "a time limit: the button writes a longer one into hipscope.toml, and it is profiled",
      async () => {
        const says = [/limited\.hip did not end within 1 s/, /timeout_s/];
        const { press } = await fails("limit", "slow/limited.hip", says, ["Allow It More Time"]);
        await press("Allow It More Time");
        await until(async () => /timeout_s = 4/.test(await read("slow/hipscope.toml")), "the new limit");
        await profiled("limit");
      },
    ],
    [
      "no compiler: the button runs the package manager in a terminal, then it is profiled",
      async () => {
        const says = [/no compiler for AMD GPUs/, /apt-get install/];
        const { press } = await fails("compiler", "compiler.hip", says, [
          "Install in a Terminal",
          "Copy the Command",
        ]);
        await press("Install in a Terminal");
        await profiled("compiler");
        await command(page, "View: Toggle Panel Visibility");
      },
    ],
    [
      "a full disk: the button empties the cache, and it is profiled",
      async () => {
        const says = [/No space left on device/, /free some space/];
        const { press } = await fails("room", "room.hip", says, ["Empty the Cache", "Profile Again"]);
        await press("Empty the Cache");
        await profiled("room");
      },
    ],
    [
      "a server that is killed while it profiles: it is started again, and a button profiles again",
      async () => {
        await open("long.hip");
        await command(page, "hipscope: Profile This Program");
        await until(() => runs("hipscope-long"), "the program to run");
        const [server] = await servers();
        process.kill(server, "SIGKILL");
        const says = [/server ended while it was profiling/, /started again/];
        const { press } = await told("killed", says, ["Profile Again", "Show Log"]);
        await until(async () => !(await runs("hipscope-long")), "the program to be gone");
        await press("Profile Again");
        await until(() => runs("hipscope-long"), "the program to run again");
      },
    ],
    [
      "a cancelled profile: the program is gone, the status item says so and profiles again",
      async () => {
        await toast.getByRole("button", { name: "Cancel", exact: true }).first().click();
        await until(async () => !(await runs("hipscope-long")), "the program to be gone");
        await untilEqual(
          async () => /cancelled/.test((await statusItem(page).getAttribute("aria-label")) ?? ""),
          true,
        );
        await picture("cancelled");
      },
    ],
    [
      "a server that ends again and again: it stays ended, and a button starts it",
      async () => {
        await open("long.hip");
        const message = toast.filter({ hasText: /server ended 4 times within 3 minutes/ }).first();
        while (!(await message.isVisible())) {
          const [server] = await servers();
          if (server !== undefined) process.kill(server, "SIGKILL");
          await statusItem(page).locator(".codicon-flame").waitFor({ state: "hidden" });
          await statusItem(page).locator(".codicon-flame").or(message).first().waitFor();
        }
        const { press } = await told("ended", [/not started again/], ["Restart Server", "Show Log"]);
        assert.deepEqual(await servers(), []);
        await press("Restart Server");
        await ready(page);
        await untilEqual(async () => (await servers()).length, 1);
      },
    ],
  ];
}
