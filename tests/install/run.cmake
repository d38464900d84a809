# Installs the build in BUILD under WORK, builds the consumer against it, and compares what it
# prints with expected.txt. Then starts the program, and the Python module with the python3 that it is for.
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DGENERATOR=... -DFLAGS=... -DPYTHON=... -DVERSION=... -DWITH_PYTHON=...
#     -P run.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${code}:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)

execute_process(COMMAND ${WORK}/build/consumer RESULT_VARIABLE code OUTPUT_VARIABLE printed
  ERROR_VARIABLE errors)
file(READ ${SOURCE}/expected.txt expected)
if(NOT code EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "the consumer ended with ${code} and printed\n${printed}${errors}")
endif()

run(${CMAKE_COMMAND} -E env PYTHONPATH=${WORK}/prefix/lib/python3/dist-packages
  ${PYTHON} ${SOURCE}/installed.py ${WORK}/prefix ${VERSION} ${WITH_PYTHON})
