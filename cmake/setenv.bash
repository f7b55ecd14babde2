# The older place of set_env.sh, which programs source:   . $ASCEND_HOME_PATH/bin/setenv.bash
. "$(CDPATH= cd -- "$(dirname -- "${BASH_SOURCE[0]:-$0}")/.." && pwd)/set_env.sh"
